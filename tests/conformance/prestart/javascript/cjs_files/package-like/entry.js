module.exports = 'entry';
