export default [4, 8, 30];
