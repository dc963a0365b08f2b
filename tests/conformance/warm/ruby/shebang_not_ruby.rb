#!/bin/sh
exit 3
#!/usr/bin/ruby -s
p __LINE__
