#!ruby
