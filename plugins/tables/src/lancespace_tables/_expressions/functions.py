"""The SQL functions whose answer is not much larger than their arguments."""

from __future__ import annotations

_NUMBERS = """
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh cot degrees exp factorial floor gcd isnan iszero lcm
    ln log log10 log2 nanvl pi pow power radians rand random round signum sin sinh sqrt tan tanh trunc
"""
_TEXTS = """
    ascii bit_length btrim char_length character_length concat concat_ws contains contains_tokens digest ends_with
    find_in_set initcap instr left length levenshtein lower ltrim md5 octet_length overlay position reverse right rtrim
    sha224 sha256 sha384 sha512 split_part starts_with strpos substr substr_index substring substring_index to_hex
    translate trim upper uuid regexp_count regexp_instr regexp_like regexp_match
"""
_TIMES = """
    current_date current_time current_timestamp date_bin date_format date_part date_trunc datepart datetrunc extract
    from_unixtime make_date make_time now to_char to_date to_local_time to_time to_timestamp to_timestamp_micros
    to_timestamp_millis to_timestamp_nanos to_timestamp_seconds to_unixtime today
"""
_LISTS = """
    any_value append cat compact concat contains dims distance distinct element empty except extract has has_all has_any
    indexof intersect length max min ndims normalize pop_back pop_front position positions prepend push_back push_front
    remove remove_all remove_n reverse slice sort union
"""
_NESTED = """
    array arrays_overlap arrays_zip cardinality cosine_distance dot_product element_at flatten get_field inner_product
    list list_zip make_array make_list map map_entries map_extract map_keys map_values named_struct row string_to_array
    string_to_list struct union_extract union_tag
"""
_JSON = """
    json_array_contains json_array_length json_exists json_extract json_extract_with_type json_get json_get_bool
    json_get_float json_get_int json_get_string
"""
_PLACES = """
    st_area st_contains st_coveredby st_covers st_crosses st_disjoint st_distance st_equals st_geomfromtext
    st_geomfromwkb st_intersects st_length st_overlaps st_point st_touches st_within st_x st_y
"""
_CHOICES = (
    "arrow_cast arrow_try_cast arrow_typeof cast coalesce greatest if ifnull least nullif nvl nvl2 try_cast version"
)

_GROWING = """
    array_join array_repeat array_replace array_replace_all array_resize array_to_string decode encode list_join
    list_repeat list_replace list_replace_all list_resize list_to_string lpad regexp_replace repeat replace rpad
"""
_OF_ROWS = """
    approx_distinct approx_median approx_percentile_cont array_agg avg bit_and bit_or bit_xor bool_and bool_or corr
    count covar covar_pop covar_samp cume_dist dense_rank exists first_value grouping lag last_value lead max mean
    median min nth_value ntile percent_rank percentile_cont quantile_cont rank row_number stddev stddev_pop stddev_samp
    string_agg sum unnest var var_pop var_samp
"""

BOUNDED = frozenset(
    [
        *f"{_NUMBERS} {_TEXTS} {_TIMES} {_NESTED} {_JSON} {_PLACES} {_CHOICES}".split(),
        *(f"{kind}_{name}" for kind in ("array", "list") for name in _LISTS.split()),
    ]
)
"""What callers of a server may use; the answer is at most as large as all arguments together, or nearly so."""

GROWING = frozenset(_GROWING.split())
"""Their answer is larger by as much as the other arguments say: these must be small literals, see ``Limits``."""

SQUARED = frozenset({"levenshtein"})
"""They take as many steps as the product of the lengths of two texts."""

PATTERNS = frozenset({"regexp_count", "regexp_instr", "regexp_like", "regexp_match", "regexp_replace"})
"""Their second argument is a regular expression."""

OF_ROWS = frozenset(_OF_ROWS.split())
"""Aggregates, window functions and ``unnest``: the query of a view may use them, too."""

_COUNTING = """
    array_dims array_distance array_empty array_has array_has_all array_has_any array_length array_ndims array_position
    array_positions arrays_overlap ascii bit_length cardinality char_length character_length contains contains_tokens
    cosine_distance ends_with find_in_set instr isnan iszero length levenshtein octet_length position starts_with strpos
    regexp_count regexp_instr regexp_like json_array_contains json_array_length json_exists json_get_bool json_get_float
    json_get_int
"""
_INDEXED = """
    array_element array_extract array_pop_back array_pop_front array_position array_remove_n array_repeat array_resize
    array_slice element_at list_element list_extract list_pop_back list_pop_front list_position list_remove_n
    list_repeat list_resize list_slice
"""

_BINARY = """
    chr decode digest json_extract json_extract_with_type json_get sha224 sha256 sha384 sha512 st_geomfromtext
    st_geomfromwkb st_point
"""

PARSING = frozenset(f"{_NUMBERS} {_TIMES} {_PLACES} arrow_cast cast generate_series map_extract range".split())
"""They may read a text that they are given as a number or a time, and fail if it is none."""

OF_TEXT = frozenset([*f"{_TEXTS} {_INDEXED} {_JSON} string_to_array string_to_list".split(), *GROWING]) - PATTERNS
"""They take texts, and numbers beside them, without converting a text to a number."""

BINARY = frozenset(_BINARY.split())
"""Their answer may have the character NUL, or the byte 0, though their arguments have none."""

COUNTING = frozenset(
    [
        *f"{_COUNTING} {_NUMBERS} {_TIMES} {_PLACES} arrow_cast".split(),
        *(f"list_{name[6:]}" for name in _COUNTING.split() if name[:6] == "array_"),
    ]
) - {"to_char"}
"""Their answer is a number, a time or a truth, or a list of those, whatever they are given."""
