# Completion of PROGRAM for fish.
function __FUNCTION_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    test (count $word) -gt 0; or set word ''
    for candidate in (command $words[1] __complete $words[2..-1] $word 2>/dev/null)
        if test "$candidate" = :files
            __fish_complete_path $word
        else
            echo $candidate
        end
    end
end
complete -c PROGRAM -f -a '(__FUNCTION_complete)'
