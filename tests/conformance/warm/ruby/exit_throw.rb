throw :nobody
