require "json"
text = JSON.pretty_generate({ "a" => [1, 2.5, nil, true], b: { c: "ü\n" } })
puts text
p JSON.parse(text), JSON.parse(text, symbolize_names: true), [1, "x"].to_json, JSON.dump(nil)
p JSON::VERSION, $LOADED_FEATURES.grep(/json/).map { |f| File.basename(f) }, Gem.loaded_specs.keys.grep(/json/)
JSON.parse("{bad")
