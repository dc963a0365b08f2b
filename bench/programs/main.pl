print "run 0\n";
