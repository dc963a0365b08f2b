console.log("run 0");
for (let i = 0; i < 20000; i++) console.log(i);
