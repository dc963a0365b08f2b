console.log('never');
function broken( {
