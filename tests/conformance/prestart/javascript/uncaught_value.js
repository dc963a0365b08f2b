throw { some: 'value', nested: [1, 2] };
