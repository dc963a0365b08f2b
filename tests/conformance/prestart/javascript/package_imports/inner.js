module.exports = 'inner';
