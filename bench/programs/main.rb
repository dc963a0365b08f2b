puts 'run 0'
