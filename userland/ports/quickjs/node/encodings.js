// The encodings from before Unicode that the web knows: their names, and what the C library calls them.
const encodings = {
  ibm866: ['cp866', '866 cp866 csibm866'], 'iso-8859-2': ['iso-8859-2', 'latin2 l2 iso8859-2 iso88592 iso_8859-2'], 'iso-8859-3': ['iso-8859-3', 'latin3 l3 iso8859-3'], 'iso-8859-4': ['iso-8859-4', 'latin4 l4 iso8859-4'],
  'iso-8859-5': ['iso-8859-5', 'cyrillic iso8859-5'], 'iso-8859-6': ['iso-8859-6', 'arabic ecma-114 iso8859-6'], 'iso-8859-7': ['iso-8859-7', 'greek ecma-118 iso8859-7 sun_eu_greek'],
  'iso-8859-8': ['iso-8859-8', 'hebrew iso8859-8 visual'], 'iso-8859-10': ['iso-8859-10', 'latin6 l6 iso8859-10'], 'iso-8859-13': ['iso-8859-13', 'iso8859-13'], 'iso-8859-14': ['iso-8859-14', 'iso8859-14'],
  'iso-8859-15': ['iso-8859-15', 'l9 iso8859-15 iso_8859-15'], 'iso-8859-16': ['iso-8859-16', ''], 'koi8-r': ['koi8-r', 'koi koi8 koi8_r cskoi8r'], 'koi8-u': ['koi8-u', 'koi8-ru'],
  'windows-874': ['cp874', 'tis-620 iso-8859-11 iso8859-11 dos-874'], 'windows-1250': ['cp1250', 'cp1250 x-cp1250'], 'windows-1251': ['cp1251', 'cp1251 x-cp1251'], 'windows-1253': ['cp1253', 'cp1253 x-cp1253'],
  'windows-1254': ['cp1254', 'cp1254 x-cp1254 latin5 l5 iso-8859-9 iso8859-9'], 'windows-1255': ['cp1255', 'cp1255 x-cp1255'], 'windows-1256': ['cp1256', 'cp1256 x-cp1256'], 'windows-1257': ['cp1257', 'cp1257 x-cp1257'],
  'windows-1258': ['cp1258', 'cp1258 x-cp1258'], gbk: ['gb18030', 'chinese csgb2312 gb2312 gb_2312 gb_2312-80 x-gbk iso-ir-58'], gb18030: ['gb18030', ''], big5: ['big5-hkscs', 'big5-hkscs cn-big5 csbig5 x-x-big5'],
  'euc-jp': ['euc-jp', 'cseucpkdfmtjapanese x-euc-jp'], shift_jis: ['cp932', 'shift-jis sjis ms_kanji ms932 csshiftjis windows-31j x-sjis'], 'euc-kr': ['cp949', 'korean ks_c_5601-1987 ksc5601 ksc_5601 windows-949 cseuckr'],
};
const labels = new Map(Object.entries(encodings).flatMap(([name, [, others]]) => [name, ...others.split(' ').filter(Boolean)].map((label) => [label, name])));

module.exports = { nameOf: (label) => labels.get(label), tableOf: (name) => encodings[name][0] };
