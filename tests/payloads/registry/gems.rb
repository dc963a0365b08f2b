# Makes a source of gems as static files, with the index that gem 3 asks for:
# gems.rb DIRECTORY.
require "fileutils"
require "rubygems/package"
require "stringio"
require "zlib"

root = File.expand_path(ARGV[0])
Gem::DefaultUserInteraction.ui = Gem::SilentUI.new
quick = File.join(root, "quick/Marshal.4.8")
[File.join(root, "gems"), quick, File.join(root, "info")].each { |it| FileUtils.mkdir_p(it) }

def build(root, name, needs)
  spec = Gem::Specification.new do |s|
    s.name = name
    s.version = "1.0"
    s.summary = name
    s.authors = ["nobody"]
    s.files = ["lib/#{name}.rb"]
    s.date = "2020-01-01"
    needs.each { |need| s.add_runtime_dependency(need, ">= 1.0") }
  end
  FileUtils.mkdir_p("lib")
  File.write("lib/#{name}.rb",
             needs.map { |need| "require \"#{need}\"\n" }.join +
             "module #{name.capitalize}\n  VERSION = \"1.0\"\nend\n")
  [spec, Gem::Package.build(spec, true)]
end

versions = +"created_at: 2020-01-01T00:00:00Z\n---\n"
specs = []
FileUtils.mkdir_p(File.join(root, "work"))
Dir.chdir(File.join(root, "work")) do
  { "helper" => [], "part" => [], "sample" => ["helper"] }.each do |name, needs|
    spec, file = build(root, name, needs)
    FileUtils.mv(file, File.join(root, "gems", file))
    data = File.binread(File.join(root, "gems", file))
    info = "---\n1.0 #{needs.map { |need| "#{need}:>= 1.0" }.join(",")}" \
           "|checksum:#{Digest::SHA256.hexdigest(data)}\n"
    File.write(File.join(root, "info", name), info)
    versions << "#{name} 1.0 #{Digest::MD5.hexdigest(info)}\n"
    File.binwrite(File.join(quick, "#{name}-1.0.gemspec.rz"),
                  Zlib::Deflate.deflate(Marshal.dump(spec)))
    specs << [name, Gem::Version.new("1.0"), "ruby"]
  end
end
File.write(File.join(root, "versions"), versions)
%w[specs latest_specs prerelease_specs].each do |kind|
  Zlib::GzipWriter.open(File.join(root, "#{kind}.4.8.gz")) do |file|
    file.write(Marshal.dump(kind == "prerelease_specs" ? [] : specs))
  end
end
