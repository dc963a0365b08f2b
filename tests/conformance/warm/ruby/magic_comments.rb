# -*- coding: utf-8; frozen-string-literal: true -*-
# warn_indent: true
p "x".frozen?, __ENCODING__
if true
  p 1
  end
