process.nextTick(function tick() { throw new Error('tick'); });
