#!/usr/bin/ruby
# encoding: iso-8859-1
p __ENCODING__, "é".bytes, "é".size, Encoding.default_external
