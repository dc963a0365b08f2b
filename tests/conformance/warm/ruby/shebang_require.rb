#!/usr/bin/env ruby -rset -rjson
p Set.new([1]), JSON.generate([1])
