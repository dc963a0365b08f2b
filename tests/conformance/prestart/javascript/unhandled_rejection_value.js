Promise.reject('a value');
