import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

// npm run size: how much there is to read. Code lines are neither blank nor comment.

const filesIn = (folder, ends) =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && ends.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('node_modules'));
const countLines = (path) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => !/^\s*(\/\/|\/\*|\*|$)/.test(line)).length;
const countWords = (path) => readFileSync(path, 'utf8').split(/\s+/).filter(Boolean).length;
const total = (paths, count) => paths.map(count).reduce((sum, number) => sum + number, 0);

const write = (line) => process.stdout.write(`${line}\n`);
const print = (name, count, files) =>
  write(`${name.padEnd(24)}${String(count).padStart(7)}${String(files).padStart(7)}`);

const CODE = /\.[cm]?[jt]s$/;
/** What a promise is shown with. */
const TESTING = ['test', 'soak', 'simulation'];

const source = filesIn('src', CODE);
/** The folder below `src`, or `src/*.ts` for the files directly in it. */
const roomOf = (path) => {
  const [room, file] = relative('src', path).split('/');
  return file === undefined ? '*.ts' : room;
};

print('', 'lines', 'files');
for (const room of [...new Set(source.map(roomOf))].toSorted()) {
  const files = source.filter((path) => roomOf(path) === room);
  print(`src/${room}`, total(files, countLines), files.length);
}
for (const folder of ['src', 'emulator', 'bench', ...TESTING]) {
  const files = filesIn(folder, CODE);
  print(`all of ${folder}`, total(files, countLines), files.length);
}
const testing = TESTING.flatMap((folder) => filesIn(folder, CODE));
print(TESTING.join(' + '), total(testing, countLines), testing.length);
const pages = ['README.md', ...filesIn('docs', /\.md$/)];
write(`\nREADME and docs: ${total(pages, countWords)} words in ${pages.length} files`);
