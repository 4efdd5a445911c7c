"""Drain (He, Zhu, Zheng, Lyu, ICWS 2017) in plain Python, as the reference for speed in template_bench: masks by regular
expressions, a tree by number of tokens and first token, similarity 0.4. Prints lines a second.

    python3 drain_reference.py FILE      a message on each line
"""
import re
import sys
import time

MASK = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-f]{16,}\b|\b\d{1,3}(?:\.\d{1,3}){3}\b|[-+]?\b\d+(?:\.\d+)?\b")
SIMILARITY = 0.4
MOST_CHILDREN = 100


def leaf_of(tree, tokens):
    children = tree.setdefault(len(tokens), {})
    first = tokens[0] if tokens else ""
    if any(c.isdigit() for c in first) or (first not in children and len(children) >= MOST_CHILDREN):
        first = "<*>"
    return children.setdefault(first, [])


def add(tree, message):
    tokens = MASK.sub("<*>", message).split()
    leaf = leaf_of(tree, tokens)
    best, most = None, -1.0
    for template in leaf:
        equal = sum(a == b for a, b in zip(template, tokens))
        similarity = equal / len(tokens) if tokens else 1.0
        if similarity > most:
            best, most = template, similarity
    if best is None or most < SIMILARITY:
        leaf.append(tokens)
        return
    for i, token in enumerate(tokens):
        if best[i] != token:
            best[i] = "<*>"


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        messages = file.read().splitlines()
    tree = {}
    start = time.perf_counter()
    for message in messages:
        add(tree, message)
    print(len(messages) / (time.perf_counter() - start))


main()
