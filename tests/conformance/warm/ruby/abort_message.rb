print "to stdout"
abort "to stderr"
