"""Reads PNG files as Atelier writes them (8 bits, RGB, not interlaced), without anything but Python."""

import struct
import zlib


def pixels(path):
    data = open(path, "rb").read()
    at, packed, width, height, channels = 8, b"", 0, 0, 3
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            channels = {2: 3, 6: 4}[colour]
            assert depth == 8, depth
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    raw, stride = zlib.decompress(packed), width * channels
    out, above = bytearray(), bytes(stride)
    for y in range(height):
        filter_type, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for x in range(stride):
            left, up = (line[x - channels] if x >= channels else 0), above[x]
            corner = above[x - channels] if x >= channels else 0
            if filter_type == 1:
                line[x] = (line[x] + left) & 255
            elif filter_type == 2:
                line[x] = (line[x] + up) & 255
            elif filter_type == 3:
                line[x] = (line[x] + (left + up) // 2) & 255
            elif filter_type == 4:
                estimate = left + up - corner
                distances = [(abs(estimate - it), n) for n, it in enumerate((left, up, corner))]
                line[x] = (line[x] + (left, up, corner)[min(distances)[1]]) & 255
        out += line
        above = bytes(line)
    return bytes(out)


def difference(one, other):
    """Mean and largest difference of two pictures, of 255."""
    apart = [abs(a - b) for a, b in zip(pixels(one), pixels(other), strict=True)]
    return sum(apart) / len(apart), max(apart)


def write_square(path, side):
    """A white square in the middle of black, grey, as PNG."""
    quarter = side // 4
    inside = lambda at: quarter <= at < side - quarter
    rows = b"".join(b"\0" + bytes(255 if inside(x) and inside(y) else 0 for x in range(side)) for y in range(side))
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
