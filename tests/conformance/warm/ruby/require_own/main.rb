require_relative "helper"
require_relative "helper"
require "./lib/deep"
load "again.rb"
load "again.rb"
load "again.rb", true
autoload :Lazy, "./lazy.rb"
p HELPER, DEEP, $again, autoload?(:Lazy), defined?(Lazy), Lazy, autoload?(:Lazy)
$LOAD_PATH.unshift("lib")
p require("json"), JSON, require("set"), defined?(Set)
p $LOADED_FEATURES.last(6).map { |f| f.delete_prefix("/workspace/") }
require_relative "broken"
