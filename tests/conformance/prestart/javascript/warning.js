process.emitWarning('careful', { code: 'CODE', detail: 'detail' });
process.on('warning', (warning) => console.log('warning', warning.name, warning.message));
