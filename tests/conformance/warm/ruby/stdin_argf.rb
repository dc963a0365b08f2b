ARGV.clear
p ARGF.filename, ARGF.readline, ARGF.lineno, $<.equal?(ARGF), $FILENAME
p readlines, ARGF.eof? rescue p $!.class
