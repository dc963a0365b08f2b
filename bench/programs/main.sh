echo 'run 0'
