use strict;
use warnings;

sleep 600;
