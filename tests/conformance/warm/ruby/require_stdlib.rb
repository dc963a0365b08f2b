before = $LOADED_FEATURES.size
p %w[set json date time securerandom stringio pp tempfile fileutils timeout open3 csv optparse erb yaml digest benchmark forwardable matrix strscan].map { |f| require f }
p $LOADED_FEATURES.size - before, require("set"), $LOADED_FEATURES.last(5)
p ERB.new("<%= 1 + 1 %>").result, CSV.parse("a,b\n1,2", headers: true).first.to_h, { a: [1] }.to_yaml, YAML.load("- 1")
p Digest::SHA256.hexdigest("x"), Digest::MD5.hexdigest("y"), Matrix[[1, 2], [3, 4]].determinant, StringScanner.new("ab").getch
p Gem.loaded_specs.keys.sort, $LOAD_PATH.size, Benchmark.realtime { 1 } < 5
