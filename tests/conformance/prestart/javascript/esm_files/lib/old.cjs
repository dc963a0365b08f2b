module.exports = { old: __filename, parent: module.parent?.id };
