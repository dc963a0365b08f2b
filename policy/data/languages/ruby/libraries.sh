# shellcheck shell=sh
# Installs gems into layer/; the arguments are names with requirements as gem
# takes them. REGISTRY is the source. With a lock lock/gems has a line for each
# archive that may be needed: name, version, platform, SHA-256 or "-".
set -e
umask 022
if [ -d lock ]; then
  mkdir archives
  # Fetched and looked at by name and version; what is asked for is then
  # installed of that alone.
  /usr/bin/ruby -rrubygems/remote_fetcher -rdigest - <<'RUBY'
registry = ENV.fetch("REGISTRY").chomp("/")
gems = File.readlines("lock/gems", chomp: true).map(&:split)
gems.group_by(&:first).each do |name, archives|
  fit = archives.select do |_, _, platform, _|
    Gem::Platform.match_gem?(Gem::Platform.new(platform), name)
  end
  _, version, platform, sum = fit.min_by { |each| each[2] == "ruby" ? 1 : 0 }
  abort "#{name} is locked for other platforms than this one" unless version
  tail = platform == "ruby" ? "" : "-#{platform}"
  file = "#{name}-#{version}#{tail}.gem"
  puts "Fetching #{file}"
  $stdout.flush
  bytes = begin
    Gem::RemoteFetcher.fetcher.fetch_path("#{registry}/gems/#{file}")
  rescue Gem::RemoteFetcher::FetchError => error
    abort "#{file}: #{error.message}"
  end
  found = Digest::SHA256.hexdigest(bytes)
  if sum != "-" && sum != found
    abort "#{file} has the checksum #{found}, and the lock has #{sum}"
  end
  File.binwrite("archives/#{file}", bytes)
end
RUBY
  cd archives
  gem install --local --install-dir ../layer --bindir ../layer/bin \
    --no-document --norc "$@"
  cd ..
else
  gem install --install-dir layer --bindir layer/bin --no-document --norc \
    --clear-sources --source "$REGISTRY" "$@"
fi
rm -rf layer/cache
