import { tiba } from './tiba.mjs';

// 15 questions in one request, which counts as 2.
const ids = ['INV/2026/001', 'INV/2026/002', ...Array.from({ length: 13 }, (_, index) => `INV/2025/${index}`)];
const { data, response } = await tiba.checkStatusBatch(ids).withResponse();

for (const result of data.results.slice(0, 3)) console.log(result.id, result.transaction?.status ?? result.error_code);
console.log(response.headers.get('ratelimit-policy'));
