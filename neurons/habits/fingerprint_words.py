"""The member names of JavaScript and the web platform. Other member names belong to the data, and do not count."""

from __future__ import annotations

_ARRAYS = """
    at concat copyWithin entries every fill filter find findIndex findLast findLastIndex flat flatMap forEach includes
    indexOf join keys lastIndexOf length map pop push reduce reduceRight reverse shift slice some sort splice toReversed
    toSorted toSpliced unshift values with
"""
_TEXTS = """
    charAt charCodeAt codePointAt endsWith localeCompare match matchAll normalize padEnd padStart repeat replace
    replaceAll search split startsWith substr substring test toLocaleLowerCase toLocaleUpperCase toLowerCase toString
    toUpperCase trim trimEnd trimStart exec lastIndex
"""
_NUMBERS_AND_DATES = """
    getDate getDay getFullYear getHours getMilliseconds getMinutes getMonth getSeconds getTime getTimezoneOffset
    getUTCDate getUTCDay getUTCFullYear getUTCHours getUTCMinutes getUTCMonth getUTCSeconds setDate setFullYear setHours
    setMinutes setMonth setSeconds setTime setUTCDate setUTCFullYear setUTCHours setUTCMinutes setUTCMonth toDateString
    toFixed toISOString toJSON toLocaleDateString toLocaleString toLocaleTimeString toPrecision valueOf
"""
_COLLECTIONS_AND_PROMISES = """
    add catch clear delete finally get has set size then next difference intersection union isSubsetOf
"""
_WEB = """
    arrayBuffer blob body headers json ok redirected searchParams status statusText text append getAll hash hostname
    href origin pathname protocol decode encode digest format formatToParts resolvedOptions message stack
"""

MEMBERS = frozenset(f"{_ARRAYS} {_TEXTS} {_NUMBERS_AND_DATES} {_COLLECTIONS_AND_PROMISES} {_WEB}".split())
