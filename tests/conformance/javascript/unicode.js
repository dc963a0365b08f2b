const text = "Grüße, 世界 🌍";

console.log(text);
console.log([...text].length);
