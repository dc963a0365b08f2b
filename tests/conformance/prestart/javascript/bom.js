console.log("bom");
