// Code in a question, spelled as the operators that it calls: caniexport.match.spelled_code function by function, under
// the same names, with its expressions.
window.makeSpeller = ({code_phrases, spelled_code, mentions, match, findall, strip, operator_key, every_operator}) => {
  const spell_code = written => {
    if ([...written].length > spelled_code._LONGEST) return written
    const variables = new Set()
    let text = written
    const replace = (pattern, spell) => {
      text = text.replace(pattern, (whole, ...place) => {
        const words = typeof spell === 'string' ? spell : spell(whole, place.at(-1))
        if (words !== whole) findall(spelled_code._VARIABLE, whole).forEach(([name]) => variables.add(name))
        return words
      })
    }
    replace(spelled_code._BRANCH, _spell_branch)
    for (const [sign, operator] of spelled_code._TYPED_SIGNS) {
      replace(sign, (_, {first, first_cast, second, second_cast}) =>
        ` ${[first, first_cast, second, second_cast].filter(Boolean).join(' ')} ${operator} `)
    }
    replace(spelled_code._CAST, (_, {method, type, base, end}) =>
      end === undefined ? ` ${method || type} ${base}.` : method || type)
    replace(spelled_code._TYPE_GIVEN, (_, {type}) => type)
    for (const [phrase, words] of code_phrases.PHRASES) replace(phrase, ` ${words} `)
    replace(spelled_code._GIVEN, ' ')
    replace(spelled_code._COMPARED, (_, {method}) => ` bool x.${method}(`)
    replace(spelled_code._SHAPE, ' size ')
    replace(spelled_code._WRITTEN, (_, {index}) => match(spelled_code._PLAIN_INDEX, index) ? ' aten::copy_ ' : ' index_put ')
    for (let round = 0; round < spelled_code._DEEPEST; round++) {
      replace(spelled_code._GROUP, '0')
      replace(spelled_code._CALL, _spell_call)
    }
    replace(spelled_code._READ, _spell_index)
    for (const [sign, operator] of [...spelled_code._SIGNS, ...spelled_code._SIGNS_APART]) replace(sign, ` ${operator} `)
    replace(spelled_code._NOT, (_, {one}) => ` aten::bitwise_not ${one.includes('mask') ? 'mask' : ''} `)
    text = text.replace(spelled_code._VARIABLE, name => variables.has(name) ? '' : name)
    return text.replaceAll(spelled_code._OPEN, '(').replaceAll(spelled_code._SHUT, ')')
  }
  const _spell_branch = (whole, {given}) => {
    if (match(spelled_code._OF_SIZE, given)) return ' branch-on-size '
    return match(spelled_code._OF_VALUE, given) ? ' branch-on-value ' : whole
  }
  const _called = text => findall(spelled_code._CALLED, text).map(([name]) => name)
  const _spell_call = (whole, {name, given}) => {
    if (match(spelled_code._PROSE, given)) return whole
    if (spelled_code._NUMBERS.includes(name) && match(spelled_code._HAS_SIZE, given)) return ' python number '
    if (match(spelled_code._OF_PYTHON, name)) return name === 'len' || match(spelled_code._HAS_SIZE, given) ? ' size ' : _called(given).join(' ')
    const parts = given.split(new RegExp(spelled_code._COMMA.source, 'u')).map(strip)
    const stays = parts.filter(part => match(spelled_code._STAYS, part)).join(',')
    const number = given.includes('python number') ? ['python number'] : []
    const others = [...number, ...parts.filter(part => !match(spelled_code._STAYS, part)).flatMap(_called)]
    const kept = stays ? `${spelled_code._OPEN}${stays}${spelled_code._SHUT}` : ''
    const size = match(spelled_code._HAS_SIZE, given) ? ['size'] : []
    return [_spell_name(name) + kept, ...others, ...size].join(' ')
  }
  const _spell_name = name => {
    if (mentions.ENGLISH.includes(name) && every_operator.has(operator_key(name))) return `torch.${name}`
    const [of_any, ...methods] = name.split('.')
    if (methods.length === 1 && methods[0] === 'size') return 'size'
    if (of_any === 'x' && methods.length > 1) return methods.map(method => `x.${method}`).join(' ')
    const method = match(spelled_code._METHOD, name)?.groups.method
    return method && every_operator.has(operator_key(method)) ? `x.${method}` : name
  }
  const _spell_index = (whole, {base, index}) => {
    if (match(spelled_code._SIZES, base.split('.').at(-1))) return ' size '
    const [, words] = spelled_code._INDICES.find(([pattern]) => match(pattern, index)) ?? ['', '']
    const item = index.includes('.item') ? ' item' : ''
    return words ? ` ${base.includes('.') ? base : ''} ${words}${item} ` : whole
  }
  return spell_code
}
