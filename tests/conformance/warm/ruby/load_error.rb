begin
  require "no_such_thing"
rescue LoadError => e
  p e.message, e.path
end
require "another_such_thing"
