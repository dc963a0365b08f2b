await new Promise(() => {});
export {};
