// Neither called nor changed by anybody else.
Error.stackTraceLimit = 3;
Error.prepareStackTrace = (error, frames) => { console.log('prepared'); return frames.length; };
process.on('beforeExit', () => console.log(Error.stackTraceLimit, new Error().stack));
