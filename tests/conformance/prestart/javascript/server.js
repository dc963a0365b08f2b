const http = require('http');
const server = http.createServer((request, response) => response.end(`got ${request.url}`));
server.listen(0, '127.0.0.1', async () => {
  const response = await fetch(`http://127.0.0.1:${server.address().port}/path`);
  console.log(response.status, await response.text());
  server.close();
  server.closeAllConnections();
});
