print('run 0')
