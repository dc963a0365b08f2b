# encoding: no-such-encoding
p 1
