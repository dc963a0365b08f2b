const begun = Date.now();
const timer = setInterval(() => {
  if (Date.now() - begun < 15) return;
  clearInterval(timer);
  console.log('stopped', Date.now() - begun < 2000);
}, 5);
setTimeout(() => {}, 10_000).unref();
const start = performance.now();
require('timers/promises').setTimeout(10, 'value').then((value) => {
  const took = performance.now() - start;
  process.on('exit', () => console.log(value, took >= 9 && took < 2000));
});
const [seconds] = process.hrtime([0, 0]);
console.log(seconds > 0, Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000);
