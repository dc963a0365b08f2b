#!/usr/bin/ruby -w
p $VERBOSE, $-w, __LINE__, ARGV, $0
unused = 1
def twice; end
def twice; end
puts @undefined.inspect
