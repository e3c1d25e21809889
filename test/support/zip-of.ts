import { crc32, deflateRawSync } from "node:zlib";

/** A ZIP archive of these files. `claim` changes what its directory says of them. */
export function zipOf(
  files: Readonly<Record<string, string>>,
  claim: { readonly size?: number; readonly flags?: number } = {},
): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  // Starting to pack takes long, and some archives have thousands of files with one text.
  const known = new Map<string, Buffer>();
  let offset = 0;
  for (const [path, text] of Object.entries(files)) {
    const name = Buffer.from(path);
    const content = Buffer.from(text);
    const packed = known.get(text) ?? deflateRawSync(content);
    known.set(text, packed);
    const same = Buffer.alloc(22);
    same.writeUInt16LE(claim.flags ?? 0, 2);
    same.writeUInt16LE(8, 4);
    same.writeUInt32LE(crc32(content), 10);
    same.writeUInt32LE(packed.length, 14);
    same.writeUInt32LE(claim.size ?? content.length, 18);
    const length = Buffer.alloc(4);
    length.writeUInt16LE(name.length);
    const header = Buffer.concat([Buffer.from("PK\x03\x04"), same, length, name]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    const version = Buffer.alloc(2);
    directory.push(Buffer.from("PK\x01\x02"), version, same, length, place, name);
    parts.push(header, packed);
    offset += header.length + packed.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(Object.keys(files).length, 4);
  end.writeUInt16LE(Object.keys(files).length, 6);
  end.writeUInt32LE(list.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, list, Buffer.from("PK\x05\x06"), end]);
}
