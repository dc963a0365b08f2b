#!/usr/bin/ruby -n
puts $_.upcase, $.
