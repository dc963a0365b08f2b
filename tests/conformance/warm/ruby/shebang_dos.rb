#!/usr/bin/ruby
p 1
