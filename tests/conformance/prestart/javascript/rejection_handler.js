process.on('unhandledRejection', (reason) => console.log('unhandled', reason.message));
process.on('rejectionHandled', () => console.log('handled late'));
const promise = Promise.reject(new Error('x'));
setTimeout(() => promise.catch(() => console.log('caught')), 5);
