export const x = import.meta.url;
