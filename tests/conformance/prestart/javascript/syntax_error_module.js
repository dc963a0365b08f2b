import fs from 'fs';
export const = 1;
