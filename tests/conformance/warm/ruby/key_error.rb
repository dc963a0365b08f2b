{ apple: 1, pear: 2 }.fetch(:aple)
