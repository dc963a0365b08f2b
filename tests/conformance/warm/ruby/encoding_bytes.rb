# encoding: us-ascii
p "plain".encoding
p "ü"
